
//line level.rl:1

//line level.rl:1


//line /work/wt/readers/tests/documents_samples/texts/ragel.go:5
var _kingfisher_actions []byte = []byte{
	0, 1, 0, 
}

var _kingfisher_key_offsets []byte = []byte{
	0, 0, 1, 2, 3, 4, 5, 6, 
	8, 
}

var _kingfisher_trans_keys []byte = []byte{
	76, 101, 118, 101, 108, 32, 48, 57, 
	48, 57, 
}

var _kingfisher_single_lengths []byte = []byte{
	0, 1, 1, 1, 1, 1, 1, 0, 
	0, 
}

var _kingfisher_range_lengths []byte = []byte{
	0, 0, 0, 0, 0, 0, 0, 1, 
	1, 
}

var _kingfisher_index_offsets []byte = []byte{
	0, 0, 2, 4, 6, 8, 10, 12, 
	14, 
}

var _kingfisher_trans_targs []byte = []byte{
	2, 0, 3, 0, 4, 0, 5, 0, 
	6, 0, 7, 0, 8, 0, 8, 0, 
	
}

var _kingfisher_trans_actions []byte = []byte{
	0, 0, 0, 0, 0, 0, 0, 0, 
	0, 0, 0, 0, 1, 0, 1, 0, 
	
}

const kingfisher_start int = 1
const kingfisher_first_final int = 8
const kingfisher_error int = 0

const kingfisher_en_main int = 1


//line level.rl:3
