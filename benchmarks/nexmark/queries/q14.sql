-- A calculation, a filter, and a function of the user's: how often a letter occurs.
CREATE STREAM Bid (auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP, extra STRING)
  SOURCE csv('bid.csv') ORDERED BY dateTime;
CREATE FUNCTION count_char(text STRING, letter STRING) RETURNS BIGINT
  AS LENGTH(text) - LENGTH(REPLACE(text, letter, ''));

REGISTER QUERY q14 AS
SELECT RSTREAM auction, bidder, 0.908 * price AS price,
       CASE WHEN HOUR(dateTime) BETWEEN 8 AND 18 THEN 'dayTime'
            WHEN HOUR(dateTime) <= 6 OR HOUR(dateTime) >= 20 THEN 'nightTime'
            ELSE 'otherTime' END AS bidTimeType,
       dateTime, count_char(extra, 'c') AS c_counts
FROM Bid [NOW]
WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000
INTO parquet('q14');
