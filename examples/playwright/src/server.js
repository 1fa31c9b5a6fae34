const http = require('http');

// A to-do list with one list for everybody, on one fixed port.
let items = [];
let next = 1;

function answer(response, status, body) {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function read(request, done) {
  let text = '';
  request.on('data', (part) => (text += part));
  request.on('end', () => done(text ? JSON.parse(text) : {}));
}

http
  .createServer((request, response) => {
    const [, , id] = request.url.split('/');
    const item = items.find((i) => String(i.id) === id);
    if (id && !item) return answer(response, 404, { error: 'no such item' });
    switch (request.method) {
      case 'GET':
        return answer(response, 200, item ?? items);
      case 'POST':
        return read(request, ({ text }) => {
          if (!text) return answer(response, 400, { error: 'an item needs a text' });
          const made = { id: next++, text, done: false };
          items.push(made);
          answer(response, 201, made);
        });
      case 'PATCH':
        return read(request, (change) => answer(response, 200, Object.assign(item, change)));
      case 'DELETE':
        items = item ? items.filter((i) => i !== item) : [];
        return answer(response, 200, {});
    }
    answer(response, 405, { error: 'no such method' });
  })
  .listen(4570, '127.0.0.1');
