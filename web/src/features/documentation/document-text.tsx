import { Link, type LinkProps } from '@tanstack/react-router'
import type { ComponentProps, ReactNode } from 'react'
import Markdown, { type Components } from 'react-markdown'
import rehypeSlug from 'rehype-slug'
import remarkGfm from 'remark-gfm'
import { CodeBlock } from '../../components/copy.tsx'
import { ExternalLink } from '../../components/links.tsx'
import { type Document, imageAddress, linkTarget } from './documents.ts'

/** A part of a document below a heading; the introduction has no anchor. */
export type Section = { anchor: string; level: number; heading: string; text: string }

type Node = {
  type: string
  value?: string
  tagName?: string
  properties?: Record<string, unknown>
  children?: readonly Node[]
  position?: { start: { line: number } }
}

/** Parses a document; the anchors are those of the rendered one. */
export function sectionsOf(markdown: string): readonly Section[] {
  const sections: Section[] = []
  const collect = () => (tree: Node) => {
    let section: Section = { anchor: '', level: 1, heading: '', text: '' }
    for (const node of tree.children ?? []) {
      const level = Number(/^h([2-6])$/.exec(node.tagName ?? '')?.[1])
      if (level) {
        sections.push(section)
        section = { anchor: String(node.properties?.['id']), level, heading: wordsOf(node), text: '' }
      } else section.text += `${wordsOf(node)} `
    }
    sections.push(section)
  }
  Markdown({ children: markdown, skipHtml: true, remarkPlugins: [remarkGfm], rehypePlugins: [rehypeSlug, collect] })
  return sections
}

/** The text of an element. Cells and items are separate words. */
function wordsOf({ value = '', children = [], tagName = '' }: Node): string {
  const text = value + children.map(wordsOf).join('')
  return /^(?:td|th|li|p|pre)$/.test(tagName) ? `${text} ` : text
}

/** A document as a page. Load this file lazily. */
export default function DocumentText({ source, text }: { source: Document; text: string }) {
  return (
    <div className="space-y-4 leading-relaxed [&_:is(ul,ol)]:space-y-1.5 [&_:is(ul,ol)]:pl-5 [&_ol]:list-decimal [&_ul]:list-disc">
      <Markdown
        skipHtml
        remarkPlugins={[remarkGfm]}
        rehypePlugins={[rehypeSlug]}
        components={{
          ...COMPONENTS,
          a: ({ href = '', children }) => (
            <DocumentLink source={source} href={href}>
              {children}
            </DocumentLink>
          ),
          img: ({ src, alt = '' }) => (
            <img
              src={typeof src === 'string' ? imageAddress(source, src) : undefined}
              alt={alt}
              loading="lazy"
              className="rounded-lg border border-line"
            />
          ),
        }}
      >
        {text}
      </Markdown>
    </div>
  )
}

const COMPONENTS: Components = {
  h2: ({ id, children }) => (
    <Heading as="h2" id={id} className="pt-4 text-lg font-semibold">
      {children}
    </Heading>
  ),
  h3: ({ id, children }) => (
    <Heading as="h3" id={id} className="pt-2 text-base font-semibold">
      {children}
    </Heading>
  ),
  h4: ({ id, children }) => (
    <Heading as="h4" id={id} className="pt-1 font-semibold">
      {children}
    </Heading>
  ),
  code: ({ children }) => <code className="rounded bg-hover px-1 py-px">{children}</code>,
  pre: ({ node }) => <Code node={node} />,
  table: ({ node, children }) => (
    <div
      tabIndex={0}
      role="group"
      aria-label={`Table, line ${node?.position?.start.line}`}
      className="overflow-x-auto rounded-lg border border-line bg-paper"
    >
      <table className="w-full border-collapse [&_td]:min-w-36 [&_td:last-child]:min-w-56 [&_td]:border-t [&_td]:border-line [&_td]:px-3 [&_td]:py-1.5 [&_td]:align-top [&_th]:px-3 [&_th]:py-2 [&_th]:text-left [&_th]:font-medium [&_th]:text-dim">
        {children}
      </table>
    </div>
  ),
  blockquote: ({ children }) => (
    <blockquote className="border-l-2 border-line-strong pl-3 text-dim">{children}</blockquote>
  ),
}

type HeadingProps = ComponentProps<'h2'> & { as: 'h2' | 'h3' | 'h4' }

/** A heading with a link to itself. */
function Heading({ as: Tag, id, className = '', children }: HeadingProps) {
  return (
    <Tag id={id} tabIndex={-1} className={`group scroll-mt-14 outline-none ${className}`}>
      {children}
      <Link
        to="."
        search
        hash={id ?? ''}
        aria-label={`Link to “${id}”`}
        className="ml-2 text-dim no-underline opacity-0 group-hover:opacity-100 focus:opacity-100"
      >
        #
      </Link>
    </Tag>
  )
}

function DocumentLink({ source, href, children }: { source: Document; href: string; children: ReactNode }) {
  const target = linkTarget(source, href)
  if (target === undefined) return children
  if ('url' in target) return <ExternalLink href={target.url}>{children}</ExternalLink>
  const props = { to: '/docs/$page', params: { page: target.page }, hash: target.hash } as LinkProps
  return (
    <Link {...props} className="text-accent underline">
      {children}
    </Link>
  )
}

/** A code block; a diagram of states becomes a table. */
function Code({ node }: { node: Node | undefined }) {
  const code = node?.children?.[0]
  const text =
    code?.children
      ?.map(({ value = '' }) => value)
      .join('')
      .trimEnd() ?? ''
  if (text.startsWith('stateDiagram')) return <Transitions diagram={text} />
  return <CodeBlock code={text} label={`code, line ${node?.position?.start.line}`} />
}

function Transitions({ diagram }: { diagram: string }) {
  const next = new Map<string, string[]>()
  for (const [, from = '', to = ''] of diagram.matchAll(/^ *(\w+) --> (\w+)/gm))
    next.set(from, [...(next.get(from) ?? []), to])
  return (
    <dl className="grid gap-x-4 gap-y-1.5 rounded-lg border border-line bg-paper px-4 py-3 sm:grid-cols-[max-content_1fr]">
      {[...next].map(([from, to]) => (
        <div key={from} className="contents">
          <dt>
            <code>{from}</code> <span className="text-dim">leads to</span>
          </dt>
          <dd className="max-sm:pl-4">
            <code>{to.join(', ')}</code>
          </dd>
        </div>
      ))}
    </dl>
  )
}
