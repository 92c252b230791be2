PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE IF NOT EXISTS "levels"(
"Station" TEXT, "Level" TEXT, "Note" TEXT);
INSERT INTO levels VALUES('Kingfisher','1.42','über Nacht, um 12 cm gefallen');
INSERT INTO levels VALUES('Corley | weir','0.97',replace('die Böschung rutschte;\nGröße unbekannt','\n',char(10)));
INSERT INTO levels VALUES('Öhringen','','Straße "gesperrt"');
COMMIT;
