import type { ReactNode } from 'react'
import Markdown, { type Components } from 'react-markdown'
import rehypeSanitize from 'rehype-sanitize'
import remarkGfm from 'remark-gfm'
import { isWebAddress } from './web-address.ts'

const COMPONENTS: Components = {
  // The page has headings of the first two levels.
  h1: ({ children }) => <h3 className="text-base font-semibold">{children}</h3>,
  h2: ({ children }) => <h4 className="font-semibold">{children}</h4>,
  h3: ({ children }) => <h5 className="font-medium">{children}</h5>,
  h4: ({ children }) => <h6 className="font-medium">{children}</h6>,
  ul: ({ children }) => <ul className="list-disc space-y-1 pl-5">{children}</ul>,
  ol: ({ children, start }) => (
    <ol start={start} className="list-decimal space-y-1 pl-5">
      {children}
    </ol>
  ),
  blockquote: (props) => <blockquote className="border-l-2 border-line-strong pl-3 text-dim" {...props} />,
  pre: ({ children }) => (
    <pre
      tabIndex={0}
      role="region"
      aria-label="Code"
      className="overflow-x-auto rounded-md border border-line bg-ground px-3 py-2"
    >
      {children}
    </pre>
  ),
  table: ({ children }) => (
    <div tabIndex={0} role="region" aria-label="Table" className="overflow-x-auto">
      <table className="border-collapse [&_td]:border [&_td]:border-line [&_td]:px-2 [&_td]:py-1 [&_th]:border [&_th]:border-line [&_th]:px-2 [&_th]:py-1 [&_th]:text-left">
        {children}
      </table>
    </div>
  ),
  a: ({ href, children }) => <OutsideLink href={href}>{children}</OutsideLink>,
  img: ({ src, alt }) => <OutsideLink href={typeof src === 'string' ? src : undefined}>{alt || 'image'}</OutsideLink>,
}

/** Untrusted Markdown. HTML is shown as text, the output is sanitised, and images are links. Load this file lazily. */
export default function MarkdownText({ text }: { text: string }) {
  return (
    <div className="markdown max-w-none space-y-3">
      <Markdown remarkPlugins={[remarkGfm]} rehypePlugins={[rehypeSanitize]} components={COMPONENTS}>
        {text}
      </Markdown>
    </div>
  )
}

function OutsideLink({ href, children }: { href: string | undefined; children: ReactNode }) {
  if (href === undefined || !isWebAddress(href)) return <span>{children}</span>
  return (
    <a href={href} target="_blank" rel="noreferrer noopener" className="text-accent underline">
      {children}
    </a>
  )
}
