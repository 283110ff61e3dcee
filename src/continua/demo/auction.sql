-- An auction house on one morning: auctions open, bids come in, auctions close.

CREATE STREAM Open (item_id INT, item STRING, ts TIMESTAMP)
  SOURCE csv('open.csv') ORDERED BY ts;

CREATE STREAM Close (item_id INT, ts TIMESTAMP)
  SOURCE csv('close.csv') ORDERED BY ts;

CREATE STREAM Bid (item_id INT, bidder STRING, price DECIMAL(8, 2), ts TIMESTAMP)
  SOURCE csv('bids.csv') ORDERED BY ts;

REGISTER QUERY high_bids AS
SELECT item_id, bidder, price
FROM Bid
WHERE price >= 200;

REGISTER QUERY contested AS
SELECT item_id, COUNT(*) AS bids, MAX(price) AS highest
FROM Bid [RANGE 10 MINUTES SLIDE 5 MINUTES]
GROUP BY item_id
HAVING COUNT(*) >= 2;

REGISTER QUERY open_now AS
SELECT item_id, item
FROM Open [RANGE UNBOUNDED]
WHERE item_id NOT IN (SELECT item_id FROM Close [RANGE UNBOUNDED]);
