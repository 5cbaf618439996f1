import { expect, test } from 'vitest'
import { ROW_PX, contentHeight, rowWindow, scrollTopFor } from './raw-view.tsx'

const HEIGHT = 600

test('a short text is rendered completely', () => {
  expect(rowWindow({ rows: 10, scrollTop: 0, height: HEIGHT })).toEqual({ from: 0, to: 10, top: 0 })
})

test('rows keep their position in the pane while scrolling', () => {
  const { from, top } = rowWindow({ rows: 1000, scrollTop: 5003, height: HEIGHT })

  expect(top).toBeCloseTo(from * ROW_PX)
})

test.each([1000, 3_000_000])('the last of %i rows is at the bottom after scrolling to the end', (rows) => {
  const scrollTop = contentHeight(rows) - HEIGHT
  const { from, to, top } = rowWindow({ rows, scrollTop, height: HEIGHT })

  expect(to).toBe(rows)
  expect(top + (to - from) * ROW_PX).toBeCloseTo(scrollTop + HEIGHT)
})

test.each([0, 5, 1_500_000, 2_999_999])('row %i of three million is visible after scrolling to it', (row) => {
  const at = { rows: 3_000_000, height: HEIGHT }
  const scrollTop = scrollTopFor(row, at)
  const { from, top } = rowWindow({ ...at, scrollTop })
  const y = top + (row - from) * ROW_PX - scrollTop

  expect(contentHeight(3_000_000)).toBeLessThan(17_000_000)
  expect(y).toBeGreaterThanOrEqual(-1)
  expect(y + ROW_PX).toBeLessThanOrEqual(HEIGHT + 1)
})
