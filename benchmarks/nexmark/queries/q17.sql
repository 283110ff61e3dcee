-- What was bid on each auction on each day.
CREATE STREAM Bid (auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP)
  SOURCE csv('bid.csv') ORDERED BY dateTime;

REGISTER QUERY q17 AS
SELECT auction, DATE_FORMAT(dateTime, 'yyyy-MM-dd') AS day,
       COUNT(*) AS total,
       COUNT(*) FILTER (WHERE price < 10000) AS low,
       COUNT(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS middle,
       COUNT(*) FILTER (WHERE price >= 1000000) AS high,
       MIN(price) AS least, MAX(price) AS most, AVG(price) AS average, SUM(price) AS sum
FROM Bid [RANGE UNBOUNDED]
GROUP BY auction, DATE_FORMAT(dateTime, 'yyyy-MM-dd')
INTO parquet('q17');
