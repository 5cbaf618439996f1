import MiniSearch from 'minisearch'
import { sectionsOf } from './document-text.tsx'
import { DOCUMENTS, loadDocument } from './documents.ts'

/** A section of a document that matches a search. `terms` are the matching words of the document. */
export type Match = {
  id: string
  page: string
  title: string
  anchor: string
  heading: string
  text: string
  terms: string[]
}

type Entry = Omit<Match, 'terms'>

let index: Promise<MiniSearch<Entry>> | undefined

/** Searches all documents, which the first search loads. Load this file lazily. */
export async function searchDocuments(text: string): Promise<Match[]> {
  index ??= buildIndex().catch((error: unknown) => {
    index = undefined
    throw error
  })
  return (await index).search(text) as unknown as Match[]
}

async function buildIndex() {
  const search = new MiniSearch<Entry>({
    fields: ['title', 'heading', 'text'],
    storeFields: ['page', 'title', 'anchor', 'heading', 'text'],
    searchOptions: {
      combineWith: 'AND',
      prefix: true,
      fuzzy: (term) => (term.length > 4 ? 0.2 : false),
      boost: { title: 3, heading: 2 },
    },
  })
  const documents = await Promise.all(DOCUMENTS.map(async (source) => ({ ...source, ...(await loadDocument(source)) })))
  for (const { page, title, text } of documents)
    search.addAll(sectionsOf(text).map((section) => ({ id: `${page}#${section.anchor}`, page, title, ...section })))
  return search
}

const EXCERPT = 160

/** Text around the first match. */
export function excerptOf({ text, terms }: Match) {
  const at = text.toLowerCase().search(patternOf(terms))
  const from = at < EXCERPT / 2 ? 0 : text.indexOf(' ', at - EXCERPT / 2) + 1
  const to = from + EXCERPT < text.length ? text.lastIndexOf(' ', from + EXCERPT) : text.length
  return `${from > 0 ? '… ' : ''}${text.slice(from, to).trim()}${to < text.length ? ' …' : ''}`
}

/** Matches the terms; the odd items of `text.split(pattern)` are matches. */
export function patternOf(terms: readonly string[]) {
  const escaped = terms.map((term) => term.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
  return new RegExp(`(${escaped.join('|') || '(?!)'})`, 'i')
}
