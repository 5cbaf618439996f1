/** Markup that is safe to put into a page as it is. */
export type Html = { markup: string }

/** Marks text as markup; only for text that is ours. */
export function raw(markup: string): Html {
  return { markup }
}

/** Joins markup; text in it is escaped, for element content and quoted attributes. */
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
