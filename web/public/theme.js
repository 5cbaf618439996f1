// Sets the theme before the first paint, so that a dark page does not flash white, and reloads a page that cannot start. A separate
// file, since the content security policy forbids inline scripts.
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

// During an upgrade, the server that sends a file may have another version than the one that sent the page. Files that did arrive are
// cached, so a page that is loaded again is complete soon.
;(() => {
  const MAX_RELOADS = 10
  const WITHIN_MS = 60_000
  let isReloading = false

  function reload() {
    const root = document.getElementById('root')
    if (isReloading || (root && root.childElementCount > 0)) return
    const now = Date.now()
    const recent = JSON.parse(sessionStorage.getItem('groundstate-reloads') ?? '[]').filter(
      (at) => at > now - WITHIN_MS,
    )
    if (recent.length >= MAX_RELOADS) return
    sessionStorage.setItem('groundstate-reloads', JSON.stringify([...recent, now]))
    isReloading = true
    setTimeout(() => location.reload(), 500)
  }

  addEventListener(
    'error',
    ({ target }) => {
      if (target instanceof HTMLScriptElement || target instanceof HTMLLinkElement) reload()
    },
    true,
  )
})()
