export interface Kingfisher {
    station: string;
    level:   number;
}
