if test $# = 0; then
	echo Kingfisher über Nacht, in der Größe
fi
