
#line 1 "level.rl"

#line 1 "level.rl"


#line 3 "/work/wt/readers/tests/documents_samples/texts/ragel.c"
static const char _kingfisher_actions[] = {
	0, 1, 0
};

static const char _kingfisher_key_offsets[] = {
	0, 0, 1, 2, 3, 4, 5, 6, 
	8
};

static const char _kingfisher_trans_keys[] = {
	76, 101, 118, 101, 108, 32, 48, 57, 
	48, 57, 0
};

static const char _kingfisher_single_lengths[] = {
	0, 1, 1, 1, 1, 1, 1, 0, 
	0
};

static const char _kingfisher_range_lengths[] = {
	0, 0, 0, 0, 0, 0, 0, 1, 
	1
};

static const char _kingfisher_index_offsets[] = {
	0, 0, 2, 4, 6, 8, 10, 12, 
	14
};

static const char _kingfisher_trans_targs[] = {
	2, 0, 3, 0, 4, 0, 5, 0, 
	6, 0, 7, 0, 8, 0, 8, 0, 
	0
};

static const char _kingfisher_trans_actions[] = {
	0, 0, 0, 0, 0, 0, 0, 0, 
	0, 0, 0, 0, 1, 0, 1, 0, 
	0
};

static const int kingfisher_start = 1;
static const int kingfisher_first_final = 8;
static const int kingfisher_error = 0;

static const int kingfisher_en_main = 1;


#line 3 "level.rl"
