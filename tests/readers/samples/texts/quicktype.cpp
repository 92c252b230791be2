#pragma once

#include <optional>
#include <stdexcept>
#include <regex>

class Kingfisher {
    public:
    Kingfisher() = default;
    virtual ~Kingfisher() = default;

    private:
    std::string station;
    double level;

    public:
    const std::string & get_station() const { return station; }
    std::string & get_mutable_station() { return station; }
    void set_station(const std::string & value) { this->station = value; }

    const double & get_level() const { return level; }
    double & get_mutable_level() { return level; }
    void set_level(const double & value) { this->level = value; }
};
