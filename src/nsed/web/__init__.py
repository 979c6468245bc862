"""Web: models behind a page and a JSON API, `nsed serve`.

`nsed.web.app.make_app` needs the extra `web`; this file imports nothing, so that limits can be read without it.
"""
