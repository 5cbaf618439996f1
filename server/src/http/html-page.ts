import { createHash } from 'node:crypto'
import type { ApiResponse } from './responses.ts'

/** Colours, sizes and weights of the web application (web/src/main.css). */
const STYLE = `
:root { color-scheme: light dark; --ground: #f6f7f9; --paper: #fff; --line: #d9dee5; --line-strong: #8b95a3;
  --ink: #18202b; --dim: #566172; --accent: #4338ca; --on-accent: #fff; --bad: #b3261e }
@media (prefers-color-scheme: dark) { :root { --ground: #0d1117; --paper: #151b23; --line: #2d3642;
  --line-strong: #6b7684; --ink: #e6eaf0; --dim: #9aa7b7; --accent: #8f8bff; --on-accent: #0d1117; --bad: #ff8d85 } }
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 24px; background: var(--ground);
  color: var(--ink); font: 14px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif }
main { width: 100%; max-width: 400px; background: var(--paper); border: 1px solid var(--line); border-radius: 6px;
  padding: 32px }
.brand { display: flex; align-items: center; gap: 8px; margin: 0 0 24px; font-weight: 600 }
.brand svg { width: 20px; height: 20px; color: var(--accent) }
h1 { margin: 0 0 8px; font-size: 20px; font-weight: 600; line-height: 1.3; overflow-wrap: anywhere }
p { margin: 0 0 16px; overflow-wrap: anywhere }
.dim { color: var(--dim) }
.error { padding: 8px 12px; border: 1px solid var(--bad); border-radius: 6px; color: var(--bad) }
label { display: block; margin: 0 0 4px; font-weight: 500 }
input { width: 100%; margin: 0 0 16px; padding: 8px 12px; font: inherit; color: inherit; background: var(--paper);
  border: 1px solid var(--line-strong); border-radius: 6px }
ul { margin: 0 0 16px; padding-left: 20px }
code { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
.who { display: flex; align-items: center; gap: 12px; margin: 0 0 16px; padding: 12px; border: 1px solid var(--line);
  border-radius: 6px; overflow-wrap: anywhere }
.who img { border-radius: 6px; flex: none }
.row { display: flex; gap: 12px; margin: 24px 0 0 }
button, a.button { flex: 1; padding: 8px 16px; font: inherit; font-weight: 500; text-align: center; text-decoration: none;
  border: 1px solid var(--line-strong); border-radius: 6px; background: transparent; color: inherit; cursor: pointer }
button.main, a.main { border-color: var(--accent); background: var(--accent); color: var(--on-accent) }
button.link { flex: none; padding: 4px 0; border: 0; color: var(--accent); text-decoration: underline }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
`
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')
/** One string, since the hash covers all whitespace between the tags. */
const STYLE_ELEMENT = { markup: `<style>${STYLE}</style>` }

/** `formTarget` is an additional origin to which forms of the page may redirect. */
type HtmlPageOptions = { status?: number; headers?: Record<string, string>; formTarget?: string }

/** A page without scripts in the style of the web application, for sign-in, consent and errors. */
export function htmlPage(
  { title, parts }: { title: string; parts: readonly Html[] },
  { status = 200, headers = {}, formTarget }: HtmlPageOptions = {},
): ApiResponse {
  const document = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · Groundstate</title>
        ${STYLE_ELEMENT}
      </head>
      <body>
        <main>
          <p class="brand">
            <svg viewBox="0 0 16 16" aria-hidden="true">
              <path d="M1 12h14M3 9h10M5 6h6" stroke="currentColor" stroke-width="2" stroke-linecap="round" />
            </svg>
            Groundstate
          </p>
          ${parts}
        </main>
      </body>
    </html>`
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${STYLE_HASH}'`,
    "img-src 'self'",
    `form-action 'self'${formTarget === undefined ? '' : ` ${formTarget}`}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ]
  return {
    status,
    headers: {
      'content-security-policy': policy.join('; '),
      'x-frame-options': 'DENY',
      // Without a referrer, browsers send forms with the origin `null`, which `checkOwnPages` rejects.
      'referrer-policy': 'same-origin',
      ...headers,
    },
    content: { type: 'text/html; charset=utf-8', data: document.markup },
  }
}

export type Html = { markup: string }

/** Marks a string as markup; only for our constants. */
export function raw(markup: string): Html {
  return { markup }
}

/** A template tag that escapes strings, for element content and quoted attributes. */
export function html(strings: TemplateStringsArray, ...values: readonly (string | Html | readonly Html[])[]): Html {
  const texts = values.map((value) =>
    typeof value === 'string'
      ? escapeHtml(value)
      : [value]
          .flat()
          .map(({ markup }) => markup)
          .join(''),
  )
  return { markup: String.raw({ raw: strings }, ...texts) }
}

function escapeHtml(text: string) {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
