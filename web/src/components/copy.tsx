import { Check, Copy } from 'lucide-react'
import { useState } from 'react'
import { Button, IconButton } from './button.tsx'
import { toast } from './overlay-hosts.tsx'

const SHOWN_MS = 2000

type CopyButtonProps = { text: string | (() => string | Promise<string>); label?: string; isIcon?: boolean }

export function CopyButton({ text, label = 'Copy', isIcon = true }: CopyButtonProps) {
  const [isDone, setIsDone] = useState(false)
  async function copy() {
    await copyText(typeof text === 'string' ? text : await text())
    setIsDone(true)
    setTimeout(() => setIsDone(false), SHOWN_MS)
    toast({ text: 'Copied' })
  }
  const props = { label, icon: isDone ? Check : Copy, onClick: () => void copy(), size: 'small' } as const
  return isIcon ? <IconButton {...props} /> : <Button {...props} />
}

/** Browsers restrict the clipboard API to secure contexts; elsewhere this copies from an invisible field. */
export async function copyText(text: string) {
  if (window.isSecureContext) return navigator.clipboard.writeText(text)
  const field = document.createElement('textarea')
  field.value = text
  document.body.append(field)
  field.select()
  // oxlint-disable-next-line typescript/no-deprecated -- the only way on a page without TLS
  document.execCommand('copy')
  field.remove()
  return undefined
}

/** An argument in a command for a POSIX shell, quoted if it has more than harmless characters. */
export function shellArgument(text: string) {
  return /^[\w.:/-]+$/.test(text) ? text : shellQuoted(text)
}

export function shellQuoted(text: string) {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

export function CodeBlock({ code, label }: { code: string; label: string }) {
  return (
    <div className="relative rounded-md border border-line bg-ground">
      <pre
        tabIndex={0}
        role="region"
        aria-label={label}
        className="overflow-x-auto px-3 py-2 pr-10 text-left font-mono text-[0.9285rem] leading-relaxed"
      >
        {code}
      </pre>
      <div className="absolute top-px right-px rounded-md bg-ground p-0.5">
        <CopyButton text={code} label={`Copy ${label}`} />
      </div>
    </div>
  )
}
