import { useSyncExternalStore } from 'react'

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

/** Read by `theme.js` before the first paint. */
const KEY = 'groundstate-theme'
const listeners = new Set<() => void>()
const systemIsDark = () => window.matchMedia('(prefers-color-scheme: dark)')

function chosen(): Theme {
  const stored = localStorage.getItem(KEY)
  return THEMES.find((theme) => theme === stored) ?? 'system'
}

/** The theme that the person has chosen, and the way to choose another one. */
export function useTheme() {
  const theme = useSyncExternalStore((draw) => {
    listeners.add(draw)
    return () => listeners.delete(draw)
  }, chosen)
  return { theme, setTheme }
}

function setTheme(theme: Theme) {
  localStorage.setItem(KEY, theme)
  applyTheme()
  for (const draw of listeners) draw()
}

/** Draws the chosen theme, and follows the system's and other tabs' from then on. */
export function followTheme() {
  applyTheme()
  systemIsDark().addEventListener('change', applyTheme)
  window.addEventListener('storage', ({ key }) => {
    if (key !== KEY) return
    applyTheme()
    for (const draw of listeners) draw()
  })
}

function applyTheme() {
  const theme = chosen()
  document.documentElement.dataset['theme'] = theme === 'system' ? (systemIsDark().matches ? 'dark' : 'light') : theme
}
