kingfisher () 
{ 
    if [ $# = 0 ]; then
        echo über Nacht, in der Größe;
    fi;
    for a in $@;
    do
        echo $a;
    done
}
