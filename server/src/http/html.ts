/** Markup that may be inserted into a page unescaped. */
export type Html = { markup: string }

/** Marks a string as markup; only for constants of our own. */
export function raw(markup: string): Html {
  return { markup }
}

/** A template tag that escapes strings, for element content and quoted attributes. */
export function html(strings: TemplateStringsArray, ...values: readonly (string | Html | readonly Html[])[]): Html {
  const markup = strings.reduce((text, part, index) => {
    const value = values[index - 1] ?? ''
    return `${text}${
      typeof value === 'string'
        ? escapeHtml(value)
        : [value]
            .flat()
            .map((html) => html.markup)
            .join('')
    }${part}`
  })
  return { markup }
}

function escapeHtml(text: string) {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
