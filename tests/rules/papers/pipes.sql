SET dialect = pipes;
CREATE STREAM OpenAuction(itemID INT, sellerID INT, start_price REAL, timestamp TIMESTAMP) ORDERED BY timestamp;
CREATE STREAM ClosedAuction(itemID INT, buyerID INT, timestamp TIMESTAMP) ORDERED BY timestamp;
CREATE STREAM Bid(itemID INT, bid_price REAL, bidderID INT, timestamp TIMESTAMP) ORDERED BY timestamp;
CREATE FUNCTION DolToEuro (price REAL) RETURNS REAL AS price * 0.9;

REGISTER QUERY currency_conversion AS
SELECT itemID, DolToEuro(bid_price), bidderID
FROM Bid;

REGISTER QUERY selection AS
SELECT *
FROM Bid
WHERE itemID = 1007 OR itemID = 1020 OR itemID = 2001 OR itemID = 2019 OR itemID = 1087;

REGISTER QUERY short_auctions AS
SELECT O.*
FROM OpenAuction O WINDOW(RANGE 5 HOURS), ClosedAuction C
WHERE O.itemID = C.itemID;

CREATE STREAM CurrentPrice AS
SELECT P.itemID, P.price, O.sellerID AS sellerID
FROM ((SELECT itemID, bid_price AS price
FROM Bid WINDOW(RANGE 2 DAYS))
UNION ALL
(SELECT itemID, start_price AS price
FROM OpenAuction WINDOW(RANGE 2 DAYS))) P,
ClosedAuction C,
OpenAuction O WINDOW(RANGE 2 DAYS)
WHERE P.itemID = C.itemID AND C.itemID = O.itemID;

REGISTER QUERY closing_price AS
SELECT itemID, sellerID, MAX(P.price) AS price
FROM CurrentPrice P
GROUP BY P.itemID, P.sellerID;

REGISTER QUERY highest_bid AS
SELECT itemID, bid_price
FROM Bid WINDOW(RANGE 10 MINUTES)
WHERE bid_price = (SELECT MAX(bid_price)
                   FROM Bid WINDOW(RANGE 10 MINUTES));

REGISTER QUERY hot_item AS
SELECT itemID

FROM (SELECT B1.itemID AS itemID, COUNT(*) AS num
FROM Bid WINDOW(RANGE 60 MINUTES) B1
GROUP BY B1.itemID)

WHERE num >= ALL(SELECT COUNT(*)

FROM Bid WINDOW(RANGE 60 MINUTES) B2

GROUP BY B2.itemID);
