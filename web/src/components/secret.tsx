import type { ReactNode } from 'react'
import { CodeBlock } from './copy.tsx'
import { Notice } from './feedback.tsx'

type SecretProps = { kind: 'token' | 'link' | 'secret'; text: string; actions?: ReactNode; children?: ReactNode }

/** A new token, link or secret, which the server does not show again. `children` are sentences about it. */
export function Secret({ kind, text, actions, children }: SecretProps) {
  return (
    <Notice tone="good" role="status">
      <p className="mb-2">
        Copy the {kind} now: it is shown only once. {children}
      </p>
      <CodeBlock label={`the ${kind}`} code={text} />
      {actions !== undefined && <div className="mt-3 flex flex-wrap gap-2">{actions}</div>}
    </Notice>
  )
}
