import Markdown, { type Components } from 'react-markdown'
import rehypeSanitize from 'rehype-sanitize'
import remarkGfm from 'remark-gfm'
import { ExternalLink } from './links.tsx'

const LISTS =
  '[&_ul]:list-disc [&_ol]:list-decimal [&_:is(ul,ol)]:space-y-1 [&_:is(ul,ol)]:pl-5 [&_blockquote]:border-l-2 [&_blockquote]:border-line-strong [&_blockquote]:pl-3 [&_blockquote]:text-dim'

const COMPONENTS: Components = {
  // The page has headings of the first two levels.
  h1: ({ children }) => <h3 className="text-base font-semibold">{children}</h3>,
  h2: ({ children }) => <h4 className="font-semibold">{children}</h4>,
  h3: ({ children }) => <h5 className="font-medium">{children}</h5>,
  h4: ({ children }) => <h6 className="font-medium">{children}</h6>,
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
  a: ({ href, children }) => <ExternalLink href={href}>{children}</ExternalLink>,
  img: ({ src, alt }) => <ExternalLink href={typeof src === 'string' ? src : undefined}>{alt || 'image'}</ExternalLink>,
}

/** Untrusted Markdown. HTML is shown as text, the output is sanitised, and images are links. Load this file lazily. */
export default function MarkdownText({ text }: { text: string }) {
  return (
    <div className={`markdown max-w-none space-y-3 ${LISTS}`}>
      <Markdown remarkPlugins={[remarkGfm]} rehypePlugins={[rehypeSanitize]} components={COMPONENTS}>
        {text}
      </Markdown>
    </div>
  )
}
