// Sets the theme before the first paint, so that a dark page does not flash white. A separate file, since the content
// security policy forbids inline scripts.
;(() => {
  let theme = 'system'
  try {
    theme = localStorage.getItem('groundstate-theme') ?? theme
  } catch {
    // The browser blocks storage for this site.
  }
  const isDark = theme === 'dark' || (theme !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
  document.documentElement.dataset.theme = isDark ? 'dark' : 'light'
})()
