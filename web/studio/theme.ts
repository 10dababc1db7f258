// Light, dark, or as the system has it.
export type Theme = 'system' | 'light' | 'dark'

const key = 'belay-theme'

export function savedTheme(): Theme {
  const t = localStorage.getItem(key)
  return t === 'light' || t === 'dark' ? t : 'system'
}

export function applyTheme(theme: Theme) {
  if (theme === 'system') {
    localStorage.removeItem(key)
    delete document.documentElement.dataset.theme
  } else {
    localStorage.setItem(key, theme)
    document.documentElement.dataset.theme = theme
  }
}
