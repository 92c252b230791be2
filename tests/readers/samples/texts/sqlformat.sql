SELECT station,
       LEVEL
FROM levels l
JOIN notes n ON n.id=l.id
WHERE station='Kingfisher' -- über Nacht