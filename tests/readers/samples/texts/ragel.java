
// line 1 "level.rl"

// line 1 "level.rl"


// line 5 "/work/wt/readers/tests/documents_samples/texts/ragel.java"
private static byte[] init__kingfisher_actions_0()
{
	return new byte [] {
	    0,    1,    0
	};
}

private static final byte _kingfisher_actions[] = init__kingfisher_actions_0();


private static byte[] init__kingfisher_key_offsets_0()
{
	return new byte [] {
	    0,    0,    1,    2,    3,    4,    5,    6,    8
	};
}

private static final byte _kingfisher_key_offsets[] = init__kingfisher_key_offsets_0();


private static char[] init__kingfisher_trans_keys_0()
{
	return new char [] {
	   76,  101,  118,  101,  108,   32,   48,   57,   48,   57,    0
	};
}

private static final char _kingfisher_trans_keys[] = init__kingfisher_trans_keys_0();


private static byte[] init__kingfisher_single_lengths_0()
{
	return new byte [] {
	    0,    1,    1,    1,    1,    1,    1,    0,    0
	};
}

private static final byte _kingfisher_single_lengths[] = init__kingfisher_single_lengths_0();


private static byte[] init__kingfisher_range_lengths_0()
{
	return new byte [] {
	    0,    0,    0,    0,    0,    0,    0,    1,    1
	};
}

private static final byte _kingfisher_range_lengths[] = init__kingfisher_range_lengths_0();


private static byte[] init__kingfisher_index_offsets_0()
{
	return new byte [] {
	    0,    0,    2,    4,    6,    8,   10,   12,   14
	};
}

private static final byte _kingfisher_index_offsets[] = init__kingfisher_index_offsets_0();


private static byte[] init__kingfisher_trans_targs_0()
{
	return new byte [] {
	    2,    0,    3,    0,    4,    0,    5,    0,    6,    0,    7,    0,
	    8,    0,    8,    0,    0
	};
}

private static final byte _kingfisher_trans_targs[] = init__kingfisher_trans_targs_0();


private static byte[] init__kingfisher_trans_actions_0()
{
	return new byte [] {
	    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
	    1,    0,    1,    0,    0
	};
}

private static final byte _kingfisher_trans_actions[] = init__kingfisher_trans_actions_0();


static final int kingfisher_start = 1;
static final int kingfisher_first_final = 8;
static final int kingfisher_error = 0;

static final int kingfisher_en_main = 1;


// line 3 "level.rl"
