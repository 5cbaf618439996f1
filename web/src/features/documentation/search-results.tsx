import { useQuery } from '@tanstack/react-query'
import { Link, type LinkProps } from '@tanstack/react-router'
import { loaded } from '../../components/feedback.tsx'
import { counted } from '../../components/numbers.ts'
import { Page } from '../../components/page.tsx'
import { type Match, excerptOf, patternOf, searchDocuments } from './search.ts'

const MAX_SHOWN = 30

/** The sections that match a search, best first. Load this file lazily. */
export default function SearchResults({ text }: { text: string }) {
  const read = useQuery({
    queryKey: ['documents', text],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => searchDocuments(text),
    placeholderData: (before) => before,
  })
  const { data, fallback } = loaded(read)
  return (
    <Page title="Search results" documentTitle={`${text} · Documentation`}>
      {!data && fallback}
      {data && (
        <p role="status" className="text-dim">
          {data.length === 0
            ? `No page mentions “${text}”. Try fewer or other words.`
            : `${counted(data.length, 'section')} ${data.length === 1 ? 'matches' : 'match'} “${text}”${data.length > MAX_SHOWN ? `; the best ${MAX_SHOWN} are shown` : ''}.`}
        </p>
      )}
      <ol aria-label="Results" className="mt-4 max-w-3xl space-y-4">
        {data?.slice(0, MAX_SHOWN).map((match) => (
          <li key={match.id}>
            <Result match={match} />
          </li>
        ))}
      </ol>
    </Page>
  )
}

function Result({ match }: { match: Match }) {
  const { page, anchor, heading, title, terms } = match
  const target = { to: '/docs/$page', params: { page }, hash: anchor || undefined } as LinkProps
  return (
    <>
      <Link {...target} className="font-medium text-accent underline">
        {heading === '' ? title : `${title}: ${heading}`}
      </Link>
      <p className="text-dim">
        {excerptOf(match)
          .split(patternOf(terms))
          .map((part, index) =>
            index % 2 === 1 ? (
              // oxlint-disable-next-line react/no-array-index-key -- parts have no other identity
              <mark key={index} className="bg-transparent font-semibold text-ink">
                {part}
              </mark>
            ) : (
              part
            ),
          )}
      </p>
    </>
  )
}
