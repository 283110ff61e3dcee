-- equal columns
SELECT label FROM Bid [NOW], Category WHERE Bid.item_id = Category.item_id AND Bid.item_id = 5;
-- bounds
SELECT label FROM Bid [NOW], Category WHERE Bid.item_id = Category.item_id AND Bid.item_id > 5 AND Category.item_id < 9;
-- along a chain of joins
SELECT label FROM Bid [NOW], Open, Category WHERE Bid.item_id = Open.item_id AND Open.item_id = Category.item_id AND Bid.item_id = 5;
-- only rows with a partner are needed of the right side
SELECT label FROM (SELECT item_id FROM Bid [NOW] WHERE item_id = 5) AS b LEFT JOIN Category ON b.item_id = Category.item_id;
-- below a grouping
SELECT label FROM (SELECT item_id, COUNT(*) AS n FROM Bid [NOW] GROUP BY item_id) AS b JOIN Category ON b.item_id = Category.item_id WHERE label = 'x' AND Category.item_id = 5;
-- the left side of a left outer join is preserved
SELECT label FROM Bid [NOW] LEFT JOIN (SELECT * FROM Category WHERE item_id = 5) AS c ON Bid.item_id = c.item_id;
-- only one side of the union
SELECT label FROM (SELECT item_id FROM Bid [NOW] WHERE item_id = 5 UNION ALL SELECT item_id FROM Close) AS b JOIN Category ON b.item_id = Category.item_id;
-- another column
SELECT label FROM Bid [NOW], Category WHERE Bid.item_id = Category.item_id AND Bid.price = 5;
-- no equality
SELECT label FROM Bid [NOW], Category WHERE Bid.item_id < Category.item_id AND Bid.item_id = 5;
-- a map computes the column
SELECT label FROM (SELECT item_id + 1 AS a FROM Bid [NOW]) AS b JOIN Category ON b.a = Category.item_id WHERE Category.item_id = 5;
