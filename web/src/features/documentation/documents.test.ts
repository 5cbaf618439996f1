import { expect, test } from 'vitest'
import { sectionsOf } from './document-text.tsx'
import { DOCUMENTS, GROUPS, documentOfPage, imageAddress, linkTarget, loadDocument } from './documents.ts'

const files = import.meta.glob<string>(['../../../../*.md', '../../../../{docs,examples}/**/*.md'], {
  query: '?raw',
  import: 'default',
  eager: true,
})
const sources = import.meta.glob<string>('../../**/*.tsx', {
  query: '?raw',
  import: 'default',
  eager: true,
})

const documents = await Promise.all(DOCUMENTS.map(async (source) => ({ source, ...(await loadDocument(source)) })))
const anchors = new Map(
  documents.map(({ source, text }) => [source.page, new Set(sectionsOf(text).map(({ anchor }) => anchor))]),
)

/** Whether a page exists, with a heading of this anchor if there is one. */
function exists(page: string, anchor = '') {
  return anchors.get(page)?.has(anchor) ?? false
}

test('each document has its own page, and those in docs/ are listed', () => {
  const listed = new Set(GROUPS.flatMap(({ documents: members }) => members.map(({ path }) => path)))

  expect(anchors.size).toBe(DOCUMENTS.length)
  expect(
    Object.keys(files).filter((path) => /\/docs\/[^/]+$/.test(path) && !listed.has(path.slice('../../../../'.length))),
  ).toEqual([])
  expect(documentOfPage('run-tasks')?.path).toBe('docs/RUN-TASKS.md')
  expect(documentOfPage('decisions')?.path).toBe('docs/decisions/README.md')
})

test('a listed title is the heading of its document, except that of the README', () => {
  const headings = DOCUMENTS.filter(({ path, title }) => title !== undefined && path !== 'README.md').map(
    ({ path, title }) => [title, /^# (.*)/.exec(files[`../../../../${path}`] ?? '')?.[1]],
  )

  expect(headings.filter(([title, heading]) => title !== heading)).toEqual([])
})

test('each link and image of a document has a target', () => {
  const links = documents.flatMap(({ source, text }) => {
    const prose = text.replaceAll(/^```[^]*?^```/gm, '').replaceAll(/`[^`\n]*`/g, '')
    return [...prose.matchAll(/(!?)\[[^\]]*\]\(([^)\s]+)\)/g)].map(([, mark, href = '']) => ({
      source,
      href,
      isImage: mark === '!',
    }))
  })

  const broken = links.filter(({ source, href, isImage }) => {
    if (isImage) return imageAddress(source, href) === undefined
    const target = linkTarget(source, href)
    return target === undefined || ('page' in target && !exists(target.page, target.hash))
  })

  expect(links.length).toBeGreaterThan(80)
  expect(broken.map(({ source, href }) => `${source.path}: ${href}`)).toEqual([])
})

test('each DocsLink leads to an existing page and heading', () => {
  const links = Object.entries(sources).flatMap(([path, text]) =>
    [...text.matchAll(/<DocsLink\s([^>]*)>/g)].map(([, props = '']) => ({
      path,
      page: /\bpage="([^"]+)"/.exec(props)?.[1] ?? '',
      anchor: /\banchor="([^"]+)"/.exec(props)?.[1],
    })),
  )

  expect(links.filter(({ page, anchor }) => !exists(page, anchor))).toEqual([])
})
