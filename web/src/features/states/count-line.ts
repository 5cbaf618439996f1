/** The counts of a row of the timeline and of its neighbours; undefined where a count is not known or there is no row. */
export type Counts = { newer: number | undefined; own: number | undefined; older: number | undefined }

/**
 * The part of the line of counts that a row draws, as points of an SVG of 100 by 100: from the middle between the newer row and
 * this one, through this one, to the middle between it and the older one. The rows together draw one line. Empty without a count.
 */
export function countLine({ newer, own, older }: Counts, most: number): string {
  if (own === undefined) return ''
  const x = (count: number) => (most === 0 ? 0 : Math.round((count / most) * 1000) / 10)
  const points: [number, number][] = [[x(own), 50]]
  if (newer !== undefined) points.unshift([x((newer + own) / 2), 0])
  if (older !== undefined) points.push([x((own + older) / 2), 100])
  return points.map((point) => point.join(',')).join(' ')
}

/** "+3", "−2", or undefined where nothing changed or is known. */
export function countChange({ own, older }: Counts) {
  if (own === undefined || older === undefined || own === older) return undefined
  return own > older ? `+${(own - older).toLocaleString('en')}` : `−${(older - own).toLocaleString('en')}`
}
