/** Which page of a list is asked for. */
export type Page = { number: number; size: number }

/** The rows of one page, and how many there are on all pages. */
export type Paged<T> = { rows: T[]; total: number }

export function pageOffset(page: Page) {
  return (page.number - 1) * page.size
}
