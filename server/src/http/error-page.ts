import type { ErrorsDocument } from '@groundstate/contract/responses'
import type { FastifyRequest } from 'fastify'
import { html, htmlPage } from './html-page.ts'

/** Paths that programs request, whatever they accept. */
const FOR_PROGRAMS = /^\/(?:_\w+|agent|api|assets|avatars|\.well-known|healthz|metrics|oauth\/token|readyz)(?:\/|$)/
/** Files of pages, such as icons and scripts. */
const FILE = /\.\w{1,11}$/

const TITLES: Record<number, string> = {
  403: 'This is not allowed',
  404: 'There is no such page',
  429: 'Too many attempts',
  500: 'Something went wrong',
  503: 'The server can’t do this now',
}

/** Whether a person waits for the response in a browser: only browsers name HTML when they open an address. */
export function isForPerson({ url, headers }: FastifyRequest) {
  const [path = ''] = url.split('?', 1)
  return /\btext\/html\b/.test(headers.accept ?? '') && !FOR_PROGRAMS.test(path) && !FILE.test(path)
}

/** An error as a page with a way on. `home` is the path of the application. */
export function errorPage(status: number, { errors }: ErrorsDocument, home: string) {
  const details = errors.map(({ detail, title }) => sentence(detail ?? title ?? ''))
  return htmlPage(
    {
      title: TITLES[status] ?? 'This did not work',
      parts: [
        html`<h1>${TITLES[status] ?? 'This did not work'}</h1>`,
        ...details.map((detail) => html`<p class="dim">${detail}</p>`),
        html`<p class="row"><a class="button main" href="${home}">Open Groundstate</a></p>`,
      ],
    },
    { status, headers: { 'cache-control': 'no-store' } },
  )
}

function sentence(text: string) {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
