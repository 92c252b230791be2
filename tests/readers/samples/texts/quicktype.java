package io.quicktype;

public class Kingfisher {
    private String station;
    private double level;

    public String getStation() { return station; }
    public void setStation(String value) { this.station = value; }

    public double getLevel() { return level; }
    public void setLevel(double value) { this.level = value; }
}
