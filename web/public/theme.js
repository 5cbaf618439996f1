// Sets the theme before the page is drawn, so that a dark page does not flash white. A separate file, since the server's
// content security policy allows no script inside the page.
;(() => {
  let chosen = 'system'
  try {
    chosen = localStorage.getItem('groundstate-theme') ?? chosen
  } catch {
    // The browser keeps nothing for this site.
  }
  const isDark = chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
  document.documentElement.dataset.theme = isDark ? 'dark' : 'light'
})()
