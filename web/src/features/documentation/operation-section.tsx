import { Link } from '@tanstack/react-router'
import { Fragment, type ReactNode } from 'react'
import { serverPath } from '../../api/base.ts'
import { curlCommand } from '../../components/copy-curl.tsx'
import { CodeBlock } from '../../components/copy.tsx'
import { type ApiDocument, type ApiResponse, type Operation, exampleOf, nameIn, typeText } from './api-document.ts'
import { Disclosure, SchemaNotes, SchemaTree } from './schema-tree.tsx'

const METHOD_STYLE: Record<string, string> = {
  GET: 'text-busy bg-busy-soft',
  POST: 'text-good bg-good-soft',
  PATCH: 'text-warn bg-warn-soft',
  PUT: 'text-warn bg-warn-soft',
  DELETE: 'text-bad bg-bad-soft',
}

export function Method({ method }: { method: string }) {
  return (
    <span
      className={`inline-block w-14 shrink-0 rounded-md py-0.5 text-center text-xs font-medium ${METHOD_STYLE[method] ?? ''}`}
    >
      {method}
    </span>
  )
}

/** An operation of the API: who may call it, its parameters, bodies and an example. */
export function OperationSection({ operation, document }: { operation: Operation; document: ApiDocument }) {
  const { operationId: id, method, path, summary, description, parameters = [], requestBody, responses } = operation
  const titleId = `${id}-title`
  return (
    <section
      id={id}
      tabIndex={-1}
      aria-labelledby={titleId}
      className="scroll-mt-14 space-y-4 rounded-lg border border-line bg-paper p-4 outline-none"
    >
      <div>
        <h2 id={titleId} className="text-base font-semibold">
          <Link to="." hash={id} className="no-underline hover:underline">
            {summary}
          </Link>
        </h2>
        <p className="mt-1 flex flex-wrap items-center gap-2">
          <Method method={method} /> <code>{path}</code>
        </p>
        {description.split('\n\n').map((text) => (
          <p key={text} className="mt-2 text-dim">
            <WithCode text={text} />
          </p>
        ))}
      </div>
      {parameters.length > 0 && (
        <Part title="Parameters">
          <ul className="space-y-1">
            {parameters.map(({ name, in: place, required, schema }) => (
              <li key={name} className="flex flex-wrap items-baseline gap-x-2">
                <code className="font-medium">{name}</code>
                <span className="text-dim">
                  {typeText(schema)} in the {place}
                </span>
                {required && <span className="text-warn">required</span>}
                <SchemaNotes schema={schema} />
              </li>
            ))}
          </ul>
        </Part>
      )}
      {requestBody && (
        <Part title={requestBody.required ? 'Request body' : 'Request body, optional'}>
          <Body content={requestBody.content} document={document} />
        </Part>
      )}
      <Part title="Responses">
        {Object.entries(responses).map(([status, response]) => (
          <Response key={status} status={status} response={response} document={document} />
        ))}
      </Part>
      <Part title="Example">
        <CodeBlock code={exampleCall(operation, document)} label={`example of ${summary}`} />
      </Part>
    </section>
  )
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div>
      <h3 className="mb-1 font-medium">{title}</h3>
      {children}
    </div>
  )
}

/** Text with code in backticks. */
function WithCode({ text }: { text: string }) {
  return text.split('`').map((part, index) => {
    // oxlint-disable-next-line react/no-array-index-key -- parts have no other identity
    return index % 2 === 1 ? <code key={index}>{part}</code> : <Fragment key={index}>{part}</Fragment>
  })
}

type BodyProps = { content: NonNullable<ApiResponse['content']>; document: ApiDocument }

function Body({ content, document }: BodyProps) {
  return Object.entries(content).map(([type, { schema }]) => (
    <div key={type}>
      <p className="text-dim">
        <code>{type}</code>
      </p>
      {Object.keys(schema).length > 0 && <SchemaTree schema={schema} document={document} />}
    </div>
  ))
}

type ResponseProps = { status: string; response: ApiResponse; document: ApiDocument }

function Response({ status, response: { $ref, ...own }, document }: ResponseProps) {
  const { description = '', content } = $ref === undefined ? own : (document.components.responses[nameIn($ref)] ?? {})
  const title = <span className="numeric font-medium">{status}</span>
  const about = (
    <span className="text-dim">
      <WithCode text={description} />
    </span>
  )
  if (!content) {
    return (
      <p className="flex items-baseline gap-2 pl-5">
        {title} {about}
      </p>
    )
  }
  return (
    <Disclosure title={title} about={about}>
      <Body content={content} document={document} />
    </Disclosure>
  )
}

/** A call with curl. Parameters of the path stay in braces. */
function exampleCall({ method, path, security, requestBody }: Operation, document: ApiDocument) {
  const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? []
  const isJson = type?.includes('json') ?? false
  return curlCommand(`${new URL(serverPath('/'), globalThis.document.baseURI).href.replace(/\/$/, '')}${path}`, {
    method,
    isPublic: security?.length === 0,
    ...(type !== undefined && { type }),
    ...(isJson && content && { data: JSON.stringify(exampleOf(content.schema, document), undefined, 2) }),
    ...(!isJson && type !== undefined && { data: '@file' }),
  })
}
