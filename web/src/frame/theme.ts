import { useSyncExternalStore } from 'react'

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

/** Read by `theme.js` before the first paint. */
const KEY = 'groundstate-theme'
const listeners = new Set<() => void>()
const systemIsDark = () => window.matchMedia('(prefers-color-scheme: dark)')

function storedTheme(): Theme {
  const stored = localStorage.getItem(KEY)
  return THEMES.find((theme) => theme === stored) ?? 'system'
}

export function useTheme() {
  const theme = useSyncExternalStore((draw) => {
    listeners.add(draw)
    return () => listeners.delete(draw)
  }, storedTheme)
  return { theme, setTheme }
}

function setTheme(theme: Theme) {
  localStorage.setItem(KEY, theme)
  applyTheme()
  for (const draw of listeners) draw()
}

/** Applies the theme, and follows changes in the system and in other tabs. */
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
  const theme = storedTheme()
  document.documentElement.dataset['theme'] = theme === 'system' ? (systemIsDark().matches ? 'dark' : 'light') : theme
}
