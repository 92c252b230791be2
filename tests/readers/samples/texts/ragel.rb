
# line 1 "level.rl"

# line 1 "level.rl"


# line 5 "/work/wt/readers/tests/documents_samples/texts/ragel.rb"
class << self
	attr_accessor :_kingfisher_actions
	private :_kingfisher_actions, :_kingfisher_actions=
end
self._kingfisher_actions = [
	0, 1, 0
]

class << self
	attr_accessor :_kingfisher_key_offsets
	private :_kingfisher_key_offsets, :_kingfisher_key_offsets=
end
self._kingfisher_key_offsets = [
	0, 0, 1, 2, 3, 4, 5, 6, 
	8
]

class << self
	attr_accessor :_kingfisher_trans_keys
	private :_kingfisher_trans_keys, :_kingfisher_trans_keys=
end
self._kingfisher_trans_keys = [
	76, 101, 118, 101, 108, 32, 48, 57, 
	48, 57, 0
]

class << self
	attr_accessor :_kingfisher_single_lengths
	private :_kingfisher_single_lengths, :_kingfisher_single_lengths=
end
self._kingfisher_single_lengths = [
	0, 1, 1, 1, 1, 1, 1, 0, 
	0
]

class << self
	attr_accessor :_kingfisher_range_lengths
	private :_kingfisher_range_lengths, :_kingfisher_range_lengths=
end
self._kingfisher_range_lengths = [
	0, 0, 0, 0, 0, 0, 0, 1, 
	1
]

class << self
	attr_accessor :_kingfisher_index_offsets
	private :_kingfisher_index_offsets, :_kingfisher_index_offsets=
end
self._kingfisher_index_offsets = [
	0, 0, 2, 4, 6, 8, 10, 12, 
	14
]

class << self
	attr_accessor :_kingfisher_trans_targs
	private :_kingfisher_trans_targs, :_kingfisher_trans_targs=
end
self._kingfisher_trans_targs = [
	2, 0, 3, 0, 4, 0, 5, 0, 
	6, 0, 7, 0, 8, 0, 8, 0, 
	0
]

class << self
	attr_accessor :_kingfisher_trans_actions
	private :_kingfisher_trans_actions, :_kingfisher_trans_actions=
end
self._kingfisher_trans_actions = [
	0, 0, 0, 0, 0, 0, 0, 0, 
	0, 0, 0, 0, 1, 0, 1, 0, 
	0
]

class << self
	attr_accessor :kingfisher_start
end
self.kingfisher_start = 1;
class << self
	attr_accessor :kingfisher_first_final
end
self.kingfisher_first_final = 8;
class << self
	attr_accessor :kingfisher_error
end
self.kingfisher_error = 0;

class << self
	attr_accessor :kingfisher_en_main
end
self.kingfisher_en_main = 1;


# line 3 "level.rl"
