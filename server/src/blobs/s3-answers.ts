import { parseXml, XmlElement } from '@rgrove/parse-xml'

/** The outermost element of a store's answer; undefined for what is no XML, such as an empty answer or a proxy's page. */
export function parseAnswer(text: string): XmlElement | undefined {
  try {
    // While it completes an upload, S3 sends spaces to keep the connection open.
    return parseXml(text.trimStart()).root ?? undefined
  } catch {
    return undefined
  }
}

export function childrenOf(parent: XmlElement | undefined, name: string): XmlElement[] {
  return (parent?.children ?? []).filter((child) => child instanceof XmlElement).filter((child) => child.name === name)
}

/** The text of the first child of that name. */
export function textOf(parent: XmlElement | undefined, name: string): string | undefined {
  return childrenOf(parent, name)[0]?.text
}
