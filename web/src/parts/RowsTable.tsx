import type { Column } from "../api";
import { cell } from "../pure/format";
import type { ShownRow } from "../pure/rows";

const NUMBERS = /^(TINYINT|SMALLINT|INT|BIGINT|FLOAT|DOUBLE|DECIMAL)/;
const MARKS = { came: "+", went: "-", same: "" } as const;
const WORDS = { came: "came", went: "went", same: "" } as const;

/** Rows; those that have just come or gone stand out by a sign as well as by colour. */
export function RowsTable({ columns, rows, label, most = 500 }: { columns: Column[]; rows: ShownRow[]; label: string; most?: number }) {
  const shown = rows.slice(0, most);
  return (
    <div className="scroll" role="region" aria-label={label} tabIndex={0}>
      <table className="data">
        <thead>
          <tr>
            <th className="mark">
              <span className="visually-hidden">Change</span>
            </th>
            {columns.map((column) => (
              <th key={column.name} className={NUMBERS.test(column.type) ? "number" : ""} title={column.type}>
                {column.name}
              </th>
            ))}
            <th className="rest" aria-hidden="true" />
          </tr>
        </thead>
        <tbody>
          {shown.map((found) => (
            <tr key={found.key} className={found.state}>
              <td className="mark">
                {MARKS[found.state]}
                <span className="visually-hidden">{WORDS[found.state]}</span>
              </td>
              {columns.map((column) => {
                const value = found.row[column.name];
                const isNull = value === null || value === undefined;
                return (
                  <td key={column.name} className={`${NUMBERS.test(column.type) ? "number" : ""} ${isNull ? "null" : ""}`} title={cell(value)}>
                    {cell(value)}
                  </td>
                );
              })}
              <td aria-hidden="true" />
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > most && <p className="muted small" style={{ padding: "6px 12px" }}>and {(rows.length - most).toLocaleString("en-US")} more rows</p>}
    </div>
  );
}
