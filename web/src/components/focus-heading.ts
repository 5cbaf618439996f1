/** Puts the focus on the heading of the page, where what had it is gone. */
export function focusHeading() {
  const heading = document.querySelector<HTMLElement>('main h1') ?? document.querySelector<HTMLElement>('main')
  heading?.focus({ preventScroll: true })
}
