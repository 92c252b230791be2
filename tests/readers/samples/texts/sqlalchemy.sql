
CREATE TABLE kingfisher (
	level FLOAT COMMENT 'über Nacht', 
	note TEXT
)

;
