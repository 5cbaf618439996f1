import { useQuery } from '@tanstack/react-query'
import { Link, useLocation, useParams, useSearch } from '@tanstack/react-router'
import { ChevronLeft, ChevronRight } from 'lucide-react'
import { Suspense, lazy, useEffect } from 'react'
import { loaded, Skeleton } from '../../components/feedback.tsx'
import { Page } from '../../components/page.tsx'
import { type Document, GROUPS, documentOfPage, loadDocument } from './documents.ts'

const SearchResults = lazy(async () => import('./search-results.tsx'))
const loadText = async () => import('./document-text.tsx')
const DocumentText = lazy(loadText)

/** The list of documents, or the results of a search. */
export function DocumentationIndexPage() {
  const { q } = useSearch({ strict: false })
  if (q !== undefined) {
    return (
      <Suspense fallback={<Skeleton />}>
        <SearchResults text={q} />
      </Suspense>
    )
  }
  return (
    <Page title="Documentation" about="The same documents are in the directory docs of the source.">
      <div className="grid gap-x-8 gap-y-6 sm:grid-cols-2">
        {GROUPS.map(({ reader, documents }) => (
          <section key={reader} aria-label={reader}>
            <h2 className="text-base font-semibold">{reader}</h2>
            <ul className="mt-2 space-y-2">
              {documents.map(({ page, title, about }) => (
                <li key={page}>
                  <Link to="/docs/$page" params={{ page }} className="font-medium text-accent underline">
                    {title}
                  </Link>
                  <p className="text-dim">{about}</p>
                </li>
              ))}
              {reader === 'Integrate' && (
                <li>
                  <Link to="/docs/api" className="font-medium text-accent underline">
                    API reference
                  </Link>
                  <p className="text-dim">Every operation with its permission, parameters and bodies</p>
                </li>
              )}
            </ul>
          </section>
        ))}
      </div>
    </Page>
  )
}

export function DocumentPage() {
  const { page = '' } = useParams({ strict: false })
  const source = documentOfPage(page)
  return source ? <OpenDocument key={page} source={source} /> : <DocumentNotFoundPage />
}

export function DocumentNotFoundPage() {
  const { pathname } = useLocation()
  return (
    <Page title="Page not found" documentTitle="Not found">
      <p className="text-dim">
        The documentation has no page <code>{pathname}</code>. Search for it, or see{' '}
        <Link to="/docs" className="text-accent underline">
          all pages
        </Link>
        .
      </p>
    </Page>
  )
}

function OpenDocument({ source }: { source: Document }) {
  const read = useQuery({
    queryKey: ['document', source.page],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => {
      const [{ title, text }, { sectionsOf }] = await Promise.all([loadDocument(source), loadText()])
      return { title, text, sections: sectionsOf(text).filter(({ level }) => level === 2 || level === 3) }
    },
  })
  const { data, fallback } = loaded(read, { rows: 12 })
  useHashTarget(data !== undefined)
  return (
    <div className="gap-8 xl:grid xl:grid-cols-[minmax(0,1fr)_14rem]">
      <article className="min-w-0 max-w-4xl">
        <Page title={data?.title ?? source.title ?? 'Documentation'}>
          {data ? (
            <Suspense fallback={fallback}>
              <DocumentText source={source} text={data.text} />
            </Suspense>
          ) : (
            fallback
          )}
          <Neighbours source={source} />
        </Page>
      </article>
      {data && data.sections.length > 1 && (
        <nav
          aria-label="On this page"
          tabIndex={-1}
          className="sticky top-16 max-h-[calc(100dvh-5rem)] self-start overflow-y-auto pb-4 max-xl:hidden"
        >
          <p className="mb-2 font-semibold">On this page</p>
          <ul className="border-l border-line">
            {data.sections.map(({ anchor, heading, level }) => (
              <li key={anchor} className={level === 2 ? 'pl-3' : 'pl-6'}>
                <Link to="." hash={anchor} className="block py-1 text-dim no-underline hover:text-ink">
                  {heading}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
      )}
    </div>
  )
}

/** Scrolls to the heading that the address names, as soon as it is rendered. */
export function useHashTarget(isReady: boolean) {
  const { hash } = useLocation()
  useEffect(() => {
    if (!isReady || hash === '') return undefined
    let attempts = 0
    let frame = requestAnimationFrame(function seek() {
      const target = document.getElementById(hash)
      // The renderer may still be loading.
      if (!target && (attempts += 1) < 300) return void (frame = requestAnimationFrame(seek))
      target?.scrollIntoView()
      return target?.focus({ preventScroll: true })
    })
    return () => cancelAnimationFrame(frame)
  }, [hash, isReady])
}

function Neighbours({ source }: { source: Document }) {
  const listed = GROUPS.flatMap(({ documents }) => documents)
  const at = listed.indexOf(source)
  const [before, after] = at === -1 ? [] : [listed[at - 1], listed[at + 1]]
  const link = 'inline-flex items-center gap-1 font-medium text-accent no-underline hover:underline'
  return (
    <nav
      aria-label="Neighbouring pages"
      className="mt-10 flex flex-wrap justify-between gap-4 border-t border-line pt-4 empty:hidden"
    >
      {before && (
        <Link to="/docs/$page" params={{ page: before.page }} className={link}>
          <ChevronLeft size={16} /> {before.title}
        </Link>
      )}
      {after && (
        <Link to="/docs/$page" params={{ page: after.page }} className={`ml-auto ${link}`}>
          {after.title} <ChevronRight size={16} />
        </Link>
      )}
    </nav>
  )
}
