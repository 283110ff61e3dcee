SELECT auction, DATE_FORMAT(dateTime, 'yyyy-MM-dd') AS day,
       COUNT(*) AS total,
       COUNT(*) FILTER (WHERE price < 10000) AS low,
       COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS middle,
       COUNT(*) FILTER (WHERE price >= 1000000) AS high,
       MIN(price) AS least, MAX(price) AS most, AVG(price) AS average, SUM(price) AS sum
FROM bid
GROUP BY auction, DATE_FORMAT(dateTime, 'yyyy-MM-dd')
