CREATE TABLE levels(Station VARCHAR, "Level" DOUBLE, Note VARCHAR);

