/** The Kingfisher gauge. */
export class Kingfisher {
    level;
    constructor(level = 1.42) {
        this.level = level;
    }
}
