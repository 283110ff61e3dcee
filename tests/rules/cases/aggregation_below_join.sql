-- figure 9 of PIPES 2009: the item tells its seller
-- statistics: Bid.rate = 1000, Close.rate = 1, Open.rate = 1, Bid.item_id = 50
SELECT Open.item_id, seller_id, MAX(price) FROM Bid [RANGE 999 SLIDE 100], Open [RANGE 999], Close [RANGE 999]
WHERE Bid.item_id = Close.item_id AND Close.item_id = Open.item_id GROUP BY Open.item_id, seller_id;
-- any aggregate, where the groups are those of the result
-- statistics: Bid.rate = 1000, Close.rate = 1, Bid.item_id = 50
SELECT Bid.item_id, COUNT(DISTINCT bidder_id), SUM(price) FILTER (WHERE price > 3), AVG(price)
FROM Bid [RANGE 999 SLIDE 100], Close [RANGE 999] WHERE Bid.item_id = Close.item_id GROUP BY Bid.item_id;
-- sums and counts in parts: an item can have several labels
-- statistics: Bid.rate = 1000, Category.rows = 100, Bid.item_id = 50
SELECT label, COUNT(*), COUNT(price), SUM(price), MIN(price), MAX(C.item_id)
FROM Bid [RANGE 999 SLIDE 100], Category C WHERE Bid.item_id = C.item_id AND price > 7 GROUP BY label;
-- of nothing there are zero
-- statistics: Bid.rate = 1000, Category.rows = 100, Bid.item_id = 50
SELECT COUNT(*), SUM(price) FROM Bid [RANGE 999 SLIDE 100], Category C WHERE Bid.item_id = C.item_id;
-- it does not pay where each bid changes a result
-- statistics: Bid.rate = 1, Close.rate = 1, Bid.item_id = 500000
SELECT Bid.item_id, COUNT(*) FROM Bid [RANGE 999], Close [RANGE 999] WHERE Bid.item_id = Close.item_id
GROUP BY Bid.item_id;
-- different values are counted over all labels
-- statistics: Bid.rate = 1000, Category.rows = 100, Bid.item_id = 50
SELECT label, COUNT(DISTINCT price) FROM Bid [RANGE 999 SLIDE 100], Category C WHERE Bid.item_id = C.item_id
GROUP BY label;
-- an aggregate of both sides
-- statistics: Bid.rate = 1000, Open.rate = 1, Bid.item_id = 50
SELECT Bid.item_id, MAX(price + start_price) FROM Bid [RANGE 999 SLIDE 100], Open [RANGE 999]
WHERE Bid.item_id = Open.item_id GROUP BY Bid.item_id;
-- the sum of items that no one has closed could overflow
-- statistics: Bid.rate = 1000, Close.rate = 1, Bid.item_id = 50
SELECT Bid.item_id, SUM(CAST(price AS BIGINT)) FROM Bid [RANGE 999 SLIDE 100], Close [RANGE 999]
WHERE Bid.item_id = Close.item_id GROUP BY Bid.item_id;
