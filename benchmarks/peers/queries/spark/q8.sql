-- dropDuplicates: id
SELECT p.id, p.name
FROM (SELECT id, name, window(dateTime, '10 seconds') AS window FROM person) AS p
JOIN (SELECT seller, window(dateTime, '10 seconds') AS window FROM auction) AS a
ON p.id = a.seller AND p.window = a.window
