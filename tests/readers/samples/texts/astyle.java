/** The Kingfisher gauge, über Nacht. */
class Kingfisher {
    int level() {
        int a=1;
        if(a>0)a=42;
        return a;
    }
}
