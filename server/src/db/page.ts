/** The requested page of a list. */
export type Page = { number: number; size: number }

/** The rows of one page, and the number of rows on all pages. */
export type Paged<T> = { rows: T[]; total: number }

export function pageOffset(page: Page) {
  return (page.number - 1) * page.size
}
