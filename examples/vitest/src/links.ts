import { createServer, get, type Server } from 'node:http';

export const PORT = 4560;

// A link shortener. It listens on one fixed port, as services do.
export class Links {
  private byCode = new Map<string, { url: string; hits: number }>();
  private server: Server = createServer((request, response) => {
    const link = this.byCode.get((request.url ?? '/').slice(1));
    if (!link) {
      response.writeHead(404).end('no such link');
      return;
    }
    link.hits++;
    response.writeHead(302, { location: link.url }).end();
  });

  listen(): Promise<void> {
    return new Promise((done, failed) => {
      this.server.once('error', failed);
      this.server.listen(PORT, '127.0.0.1', () => done());
    });
  }

  close(): Promise<void> {
    return new Promise((done) => this.server.close(() => done()));
  }

  add(url: string, code = codeOf(url)): string {
    if (!/^https?:\/\//.test(url)) throw new Error(`${url} is no address`);
    const there = this.byCode.get(code);
    if (there && there.url !== url) throw new Error(`${code} is taken`);
    if (!there) this.byCode.set(code, { url, hits: 0 });
    return code;
  }

  hits(code: string): number {
    return this.byCode.get(code)?.hits ?? 0;
  }
}

export function codeOf(url: string): string {
  let sum = 7;
  for (const c of url) sum = (sum * 31 + c.charCodeAt(0)) >>> 0;
  return sum.toString(36);
}

// One connection for each visit: one that is kept would belong to the server of an earlier test.
export function visit(code: string): Promise<{ status?: number; location?: string; text: string }> {
  return new Promise((done, failed) => {
    get({ host: '127.0.0.1', port: PORT, path: `/${code}`, agent: false }, (response) => {
      let text = '';
      response.on('data', (part) => (text += part));
      response.on('end', () => done({ status: response.statusCode, location: response.headers.location, text }));
    }).once('error', failed);
  });
}
