/** The height of a row, in px. */
export const ROW_PX = 20

/** Browsers draw nothing below some height: Firefox 17.8 million px, Chromium 33.5. */
const MOST_PX = 16_000_000

/** Rows drawn above and below those in sight, so that scrolling meets no gap. */
const SPARE = 15

/** How high the inside of a pane is that shows `rows`: less than they need when a browser can't draw that much. */
export function insideHeight(rows: number) {
  return Math.min(rows * ROW_PX, MOST_PX)
}

/** Which rows are drawn in a pane of this height, and where the first of them stands, in px. */
export function rowWindow({ rows, scrollTop, height }: { rows: number; scrollTop: number; height: number }) {
  const exact = firstRow({ rows, scrollTop, height })
  const from = Math.max(0, Math.floor(exact) - SPARE)
  const to = Math.min(rows, Math.ceil(exact + height / ROW_PX) + SPARE)
  return { from, to, top: scrollTop - (exact - from) * ROW_PX }
}

/** The row at the upper border, with its fraction. */
function firstRow({ rows, scrollTop, height }: { rows: number; scrollTop: number; height: number }) {
  const inside = insideHeight(rows)
  const room = inside - height
  if (room <= 0) return 0
  return (Math.min(scrollTop, room) / room) * (rows - height / ROW_PX)
}

/** How far a pane must be scrolled for the row to stand in its middle. */
export function scrollTopFor(row: number, { rows, height }: { rows: number; height: number }) {
  const room = insideHeight(rows) - height
  const first = Math.max(0, row + 0.5 - height / ROW_PX / 2)
  const most = rows - height / ROW_PX
  return room <= 0 || most <= 0 ? 0 : Math.min(room, (first / most) * room)
}
