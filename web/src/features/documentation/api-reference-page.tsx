import { Link, Navigate, useLocation, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { apiPath } from '../../api/client.ts'
import { loaded } from '../../components/feedback.tsx'
import { SearchField } from '../../components/filters.tsx'
import { counted } from '../../components/numbers.ts'
import { Page } from '../../components/page.tsx'
import { type ApiDocument, type Tag, searchOperations, useApiDocument } from './api-document.ts'
import { DocumentNotFoundPage, useHashTarget } from './document-page.tsx'
import { Method, OperationSection } from './operation-section.tsx'

const DOWNLOAD = 'font-medium text-accent underline'

/** All operations by tag, with a search. `/docs/api#operation` leads to the operation. */
export function ApiReferencePage() {
  const { operations = '' } = useSearch({ strict: false })
  const { hash, pathname } = useLocation()
  const navigate = useNavigate()
  const { data, fallback } = loaded(useApiDocument(), { rows: 12 })
  // The location may already be that of the next page.
  const operation = /\/api\/?$/.test(pathname) && hash
  const named =
    operation && data?.tags.find((tag) => tag.operations.some(({ operationId }) => operationId === operation))
  if (named) return <Navigate to="/docs/api/$tag" params={{ tag: named.page }} hash={hash} replace />
  const tags = data ? searchOperations(data.tags, operations) : []
  const count = tags.reduce((sum, tag) => sum + tag.operations.length, 0)
  return (
    <Page
      title="API reference"
      about={
        <>
          {data?.document.info.description.split('\n').join(' ').replaceAll('`', '')} As OpenAPI:{' '}
          <a href={apiPath('/openapi.json')} className={DOWNLOAD}>
            openapi.json
          </a>
          . The details on which clients rely:{' '}
          <Link to="/docs/$page" params={{ page: 'interface' }} className={DOWNLOAD}>
            Interface
          </Link>
          .
        </>
      }
    >
      {!data && fallback}
      {data && (
        <>
          <div className="mb-5 flex flex-wrap items-center gap-3">
            <SearchField
              label="Search operations"
              value={operations}
              onChange={(text) =>
                void navigate({ to: '.', search: { operations: text === '' ? undefined : text }, replace: true })
              }
            />
            <span role="status" className="text-dim">
              {count === 0 ? `No operation matches “${operations}”.` : counted(count, 'operation')}
            </span>
          </div>
          <div className="columns-1 gap-8 xl:columns-2">
            {tags.map((tag) => (
              <TagIndex key={tag.page} tag={tag} />
            ))}
          </div>
        </>
      )}
    </Page>
  )
}

function TagIndex({ tag: { name, page, operations } }: { tag: Tag }) {
  return (
    <section aria-label={name} className="mb-5 break-inside-avoid">
      <h2 className="font-semibold">
        <Link to="/docs/api/$tag" params={{ tag: page }} className="no-underline hover:underline">
          {name}
        </Link>
      </h2>
      <ul className="mt-1">
        {operations.map(({ operationId, method, path, summary }) => (
          <li key={operationId}>
            <Link
              to="/docs/api/$tag"
              params={{ tag: page }}
              hash={operationId}
              className="flex items-baseline gap-2 rounded-md px-1 py-1 no-underline hover:bg-hover"
            >
              <Method method={method} />
              <span className="min-w-0">
                {summary}
                <code className="block text-dim">{path.replace('/api/v2', '')}</code>
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** The operations of one tag. */
export function ApiTagPage() {
  const { tag: page } = useParams({ strict: false })
  const { data, fallback } = loaded(useApiDocument(), { rows: 12 })
  useHashTarget(data !== undefined)
  if (!data) return <Page title="API reference">{fallback}</Page>
  const tag = data.tags.find((candidate) => candidate.page === page)
  return tag ? <OpenTag key={page} tag={tag} document={data.document} /> : <DocumentNotFoundPage />
}

function OpenTag({ tag: { name, operations }, document }: { tag: Tag; document: ApiDocument }) {
  return (
    <Page
      title={name}
      documentTitle={`${name} · API reference`}
      about={
        <Link to="/docs/api" className="text-accent underline">
          All operations
        </Link>
      }
    >
      <div className="gap-8 xl:grid xl:grid-cols-[minmax(0,1fr)_14rem]">
        <div className="min-w-0 space-y-4">
          {operations.map((operation) => (
            <OperationSection key={operation.operationId} operation={operation} document={document} />
          ))}
        </div>
        <nav aria-label="On this page" className="sticky top-16 self-start max-xl:hidden">
          <ul className="border-l border-line">
            {operations.map(({ operationId, summary }) => (
              <li key={operationId} className="pl-3">
                <Link to="." hash={operationId} className="block py-1 text-dim no-underline hover:text-ink">
                  {summary}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
      </div>
    </Page>
  )
}
